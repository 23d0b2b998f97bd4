"""Names of fields by language: one table, of what systems of a country call what a person has.

The phrases are as `words_of` returns them, or as people write them. A name that is a common word, too, is
under `any_name`: it counts only next to another field of a person.
"""

BY_LANGUAGE = {
    "Afrikaans": {
        "email": "epos, e pos, eposadres, e posadres",
        "phone": "selfoon, selfoonnommer, foon, telefoonnommer, kontaknommer",
        "card": "kaartnommer",
        "ip": "ip adres",
        "password": "wagwoord",
        "name": "voornaam, noemnaam, familienaam, volle naam, volname",
        "birth": "geboortedatum",
        "address": "straatadres, adres, woonadres, posadres",
        "national": "identiteitsnommer, id nommer",
    },
    "Bulgarian": {
        "email": "имейл, електронна поща, ел поща",
        "phone": "телефон, мобилен, мобилен телефон, телефонен номер, gsm",
        "iban": "банкова сметка, сметка",
        "card": "номер на карта, карта",
        "password": "парола",
        "name": "собствено име, фамилия, фамилно име, презиме, пълно име, трите имена",
        "any_name": "име, ime, familia, imena",
        "birth": "дата на раждане, рождена дата, data na razhdane, rozhdena data",
        "address": "адрес, улица, ulitsa",
    },
    "Chinese": {
        "email": "邮箱, 电子邮件, 邮件, 電子郵件, 信箱",
        "phone": "电话, 手机, 手机号, 手机号码, 电话号码, 联系电话, 電話, 手機, 電話號碼, shouji, dianhua",
        "iban": "银行账号, 银行账户, 银行卡号",
        "card": "卡号, 信用卡号, 信用卡",
        "ip": "ip 地址",
        "password": "密码, 密碼",
        "name": "姓名, 真实姓名, 客户姓名, 联系人, 收件人, 收货人, xingming",
        "any_name": "名字, 姓",
        "birth": "出生日期, 生日, 出生年月日",
        "address": "地址, 住址, 详细地址, 收货地址, dizhi",
        "national": "身份证号码, 证件号码, 证件号",
    },
    "Croatian, Serbian and Bosnian": {
        "email": "e posta, eposta, email adresa, adresa e poste",
        "phone": "telefon, mobitel, mobilni, broj mobitela, broj telefona, telefonski broj",
        "iban": "broj racuna, racun, ziro racun",
        "card": "broj kartice, kartica",
        "ip": "ip adresa",
        "password": "lozinka, zaporka",
        "name": "prezime, ime i prezime, puno ime, vlasnik racuna",
        "any_name": "ime, naziv",
        "birth": "datum rodenja, datum rođenja, datum rodjenja, rodenje, rođenje",
        "address": "ulica, adresa, ulica i broj, adresa stanovanja, prebivaliste",
    },
    "English": {
        "email": "email adr, email id, mail id",
        "phone": (
            "phone no, mobile no, mobile number, contact number, contact no, contact phone, mob no, "
            "reach me on, reach me at, call me on, "
            "mob nb, phne nb, cellphone, landline, home phone, work phone"
        ),
        "iban": "acct iban, account iban, creditor iban, debtor iban",
        "card": "card num, card nbr, cc num, credit card, debit card",
        "name": (
            "forename, first nm, last nm, full nm, cust nm, customer nm, "
            "beneficiary name, payee name, payer name, debtor name, creditor name, "
            "passenger name, traveller name, user full name, father name, "
            "mother name, mothers maiden name, fathers name, preferred name"
        ),
        "person": (
            "cdtr, dbtr, ultmt cdtr, ultmt dbtr, traveller, traveler, policyholder, policy holder, "
            "citizen, cust"
        ),
        "any_name": "nm, holder",
        "birth": "born on, bday, birth dt, date birth, birth day, d o b, date of birth",
        "address": (
            "addr1, addr2, address2, addr line, adr line, strt nm, street name, street line, "
            "mailing address, residential address, permanent address, current address, residence"
        ),
        "national": (
            "personal identity code, national id number, nin, government id, identity no, "
            "citizen number, tax identification number, personal id code, ssn"
        ),
    },
    "Danish and Norwegian": {
        "email": "epost, e post, epostadresse, e postadresse, mailadresse",
        "phone": "mobilnummer, mobiltelefon, telefonnummer, tlf nr, mobil nr",
        "iban": "kontonr, kontonummer",
        "card": "kortnr",
        "ip": "ip adresse",
        "password": "adgangskode, kodeord, passord",
        "name": "fulde navn, kundens navn, kundenavn",
        "birth": "fodt den, fodselsdato, fodt",
        "address": "gadenavn, gade, veinavn, postadresse, hjemmeadresse, leveringsadresse, bopaelsadresse",
    },
    "Estonian": {
        "email": "epost, e post, meiliaadress",
        "phone": "telefon, telefoninumber, mobiiltelefon, mobiil",
        "iban": "arveldusarve, kontonumber, pangakonto",
        "card": "kaardi number, kaardinumber",
        "ip": "ip aadress",
        "password": "parool, salasona",
        "name": "eesnimi, perekonnanimi, perenimi, taisnimi",
        "any_name": "nimi",
        "birth": "sunniaeg, sunnikuupaev, sunnipaev",
        "address": "aadress, tanav, elukoht, postiaadress, koduaadress",
    },
    "Dutch": {
        "latitude": "breedtegraad",
        "longitude": "lengtegraad",
        "phone": "gsm nummer, gsmnummer, mobiel nummer, mobielnummer, telnummer, bel mij op, bel me op",
        "birth": "geboren op, geb datum, gebdatum",
        "name": "tussenvoegsel, naam klant, klantnaam, volledige naam, roepnaam, voornamen, geslachtsnaam",
        "address": "straat en huisnummer, woonadres, postadres, bezorgadres, factuuradres, huisadres",
    },
    "Finnish": {
        "email": "sahkopostiosoite",
        "phone": "matkapuhelin, matkapuhelinnumero, puhelinnro, puh",
        "iban": "tilinumero",
        "card": "korttinumero, luottokortin numero, maksukortti",
        "ip": "ip osoite",
        "name": "etunimet, koko nimi, kutsumanimi, asiakkaan nimi, tilinomistaja",
        "any_name": "nimi",
        "birth": "syntymapaiva",
        "address": "lahiosoite, kotiosoite, postiosoite, toimitusosoite, laskutusosoite",
    },
    "French": {
        "phone": "rappeler au, joignable au, appelez moi au",
        "password": "mdp",
        "name": "nom client, nom du client, nom usuel, nom d usage, nom de naissance, nom et prenom",
        "birth": "date naiss, dt naissance, ne le, nee le, ne e le",
        "address": "adresse postale, adresse de livraison, adresse de facturation, numero et voie",
    },
    "German": {
        "phone": "rufen sie mich an, erreichbar unter, ruf mich an",
        "name": "nachnamen, vornamen, vor und nachname, zuname, name des kunden, empfanger name, empfangername, rufname, geburtsname",
        "birth": "geb datum, geburts datum, geb dat, geboren am, geb am",
    },
    "Greek": {
        "email": "ηλεκτρονικό ταχυδρομείο, ηλ ταχυδρομείο, διεύθυνση email",
        "phone": "τηλέφωνο, κινητό, κινητό τηλέφωνο, αριθμός τηλεφώνου, tilefono, kinito",
        "iban": "τραπεζικός λογαριασμός, λογαριασμός",
        "card": "αριθμός κάρτας, κάρτα",
        "password": "κωδικός πρόσβασης, συνθηματικό",
        "name": "επώνυμο, επίθετο, ονοματεπώνυμο, eponymo, epitheto, onomateponymo",
        "any_name": "όνομα, onoma",
        "birth": "ημερομηνία γέννησης, imerominia gennisis, hmerominia gennhsis",
        "address": "διεύθυνση, οδός, διεύθυνση κατοικίας, diefthinsi, dieythynsi, odos",
    },
    "Hungarian": {
        "email": "email cim, e mail cim, emailcim, levelezesi email",
        "phone": "telefonszam, mobilszam, mobiltelefonszam, telefonszama",
        "iban": "bankszamlaszam, szamlaszam, bankszamla",
        "card": "kartyaszam, bankkartyaszam, bankkartya",
        "ip": "ip cim",
        "password": "jelszo",
        "name": (
            "keresztnev, utonev, vezeteknev, csaladnev, teljes nev, ugyfel neve, anyja neve, "
            "szuletesi nev, szamlatulajdonos"
        ),
        "any_name": "nev",
        "birth": "szuletesi datum, szuletesi ido, szuletesi ev, szuletesnap, szuletett",
        "address": "lakcim, utca, cim, lakohely, szallitasi cim, szamlazasi cim, postacim, ertesitesi cim",
        "national": "szemelyi szam, szemelyi azonosito",
    },
    "Indonesian and Malay": {
        "email": "surel, alamat email, emel",
        "phone": (
            "telepon, nomor telepon, no telepon, no telp, telp, no hp, nomor hp, nomor ponsel, "
            "ponsel, telefon bimbit"
        ),
        "iban": "nomor rekening, no rekening",
        "card": "nomor kartu, kartu kredit, no kad",
        "ip": "alamat ip",
        "password": "kata sandi, sandi, kata laluan",
        "name": "nama lengkap, nama depan, nama belakang, nama pelanggan, nama penuh, nama keluarga",
        "any_name": "nama",
        "birth": "tanggal lahir, tgl lahir, tarikh lahir",
        "address": "alamat, alamat rumah, alamat lengkap, jalan",
    },
    "Italian": {
        "email": "posta elettronica, indirizzo email, indirizzo mail",
        "phone": "numero di telefono, numero telefono, num telefono, telefono cellulare, cell, recapito telefonico",
        "iban": "conto corrente",
        "card": "numero carta, numero di carta, carta di credito",
        "ip": "indirizzo ip",
        "name": "nome completo, cognome e nome, nominativo, nome cliente, nome del cliente, intestatario conto",
        "any_name": "intestatario",
        "birth": "nato il, nata il, data nasc",
        "address": "indirizzo di residenza, residenza, via e numero, indirizzo di spedizione, indirizzo spedizione",
    },
    "Japanese": {
        "email": "メールアドレス, 電子メール, メール, eメール, mailアドレス",
        "phone": "電話番号, 電話, 携帯電話, 携帯番号, 携帯, denwa bango, denwabango, denwa, keitai",
        "iban": "口座番号, koza bango",
        "card": "カード番号, クレジットカード番号, クレジットカード",
        "ip": "ipアドレス, 接続元ip",
        "password": "パスワード, 暗証番号",
        "name": (
            "氏名, 姓名, 苗字, 名字, フルネーム, 口座名義, 名義人, 氏名カナ, 名前カナ, shimei, "
            "myoji, 契約者名, 顧客名"
        ),
        "any_name": "名, 姓, 名前, お名前, 下の名前, sei, mei, namae",
        "birth": "生年月日, 誕生日, seinengappi, tanjobi",
        "address": "住所, 現住所, jusho, juusho",
    },
    "Korean": {
        "email": "이메일, 이메일주소, 전자우편, 메일주소",
        "phone": (
            "전화번호, 휴대폰번호, 휴대폰, 휴대전화, 핸드폰, 핸드폰번호, 연락처, hp no, hp num, phone no"
        ),
        "iban": "계좌번호, 은행계좌",
        "card": "카드번호, 신용카드번호",
        "ip": "ip주소, 아이피, 접속ip",
        "password": "비밀번호, 패스워드",
        "name": "성명, 고객명, 고객이름, 예금주, 수령인, 수취인",
        "any_name": "이름, 성",
        "birth": "생년월일, 생일, 출생일",
        "address": "주소, 배송지, 도로명주소, 거주지, juso",
    },
    "Latvian": {
        "email": "epasts, e pasts, epasta adrese",
        "phone": "telefons, talrunis, talruna numurs, mobilais, mobilais talrunis, telefona numurs",
        "iban": "konta numurs, bankas konts",
        "card": "kartes numurs",
        "ip": "ip adrese",
        "name": "uzvards, vards uzvards, pilns vards",
        "any_name": "vards",
        "birth": "dzimsanas datums, dzimsanas diena",
        "address": "adrese, iela, dzivesvieta, pasta adrese",
        "national": "personas kods",
    },
    "Lithuanian": {
        "email": "el pastas, elpastas, el pasto adresas, elektroninis pastas",
        "phone": "telefonas, telefono numeris, mobilusis, mobilusis telefonas, tel nr",
        "iban": "saskaitos numeris, banko saskaita",
        "card": "korteles numeris",
        "ip": "ip adresas",
        "password": "slaptazodis",
        "name": "pavarde, vardas pavarde, vardas ir pavarde, pilnas vardas",
        "any_name": "vardas",
        "birth": "gimimo data, gimimo diena",
        "address": "adresas, gatve, gyvenamoji vieta, namu adresas",
    },
    "Polish": {
        "email": "adres email, adres e mail, poczta elektroniczna",
        "phone": "numer telefonu, nr telefonu, telefon komorkowy, nr tel, numer komorki",
        "iban": "nr konta, numer rachunku, nr rachunku, rachunek bankowy",
        "card": "numer karty, nr karty, karta platnicza",
        "ip": "adres ip",
        "name": "pelne imie, imie nazwisko, nazwisko rodowe, drugie imie, imie klienta, nazwisko klienta",
        "birth": "data ur, data urodz, urodzony, urodzona, ur dnia",
        "address": "adres zamieszkania, adres zameldowania, adres dostawy, adres korespondencyjny, adres klienta",
    },
    "Portuguese": {
        "name": "nome do cliente, nome cliente, nome do titular, nome social, nome da mae",
        "birth": "nascido, nascida, nascido em, nascida em, data de nasc, data nasc, dt nascimento, dt nasc",
    },
    "Romanian": {
        "email": "adresa email, adresa de email, adresa e mail, posta electronica",
        "phone": "nr telefon, telefon mobil, nr de telefon, numar mobil",
        "iban": "cont iban, cont bancar",
        "card": "numar card, numar de card, nr card",
        "ip": "adresa ip",
        "name": "nume familie, nume si prenume, titular cont, nume client",
        "any_name": "nume, titular",
        "birth": "data nasterii, data nastere, nascut la",
        "address": "adresa, domiciliu, adresa de livrare, resedinta",
        "national": "cod numeric personal",
    },
    "Russian": {
        "email": "почта, электронная почта, эл почта, имейл, адрес электронной почты",
        "phone": "телефон, номер телефона, мобильный, мобильный телефон, контактный телефон",
        "iban": "номер счета, банковский счет",
        "card": "номер карты, банковская карта",
        "ip": "ip адрес",
        "password": "пароль, parol",
        "name": "фамилия, отчество, фио, полное имя, familiya, otchestvo",
        "any_name": "имя, imya, fio",
        "birth": "дата рождения, день рождения, data rozhdeniya",
        "address": "адрес, улица, адрес проживания, адрес регистрации, место жительства, adres",
        "national": "паспорт, снилс",
    },
    "Slovak and Czech": {
        "email": "emailova adresa, e mailova adresa",
        "phone": "mobil, cislo mobilu, tel cislo, telefonni cislo, telefonne cislo",
        "iban": "cislo uctu, bankovni ucet, bankovy ucet",
        "card": "cislo karty, platobna karta, platebni karta",
        "ip": "ip adresa",
        "password": "heslo",
        "name": "krstne meno, meno a priezvisko, jmeno a prijmeni, cele meno",
        "birth": "datum narodenia, narodeny, narozen",
        "address": "ulica a cislo, adresa bydliska, trvaly pobyt, bydlisko",
    },
    "Slovene": {
        "email": "e posta, eposta, elektronska posta, e naslov",
        "phone": "telefon, telefonska stevilka, mobilni telefon, gsm",
        "iban": "stevilka racuna, bancni racun, transakcijski racun, trr",
        "card": "stevilka kartice",
        "ip": "ip naslov",
        "password": "geslo",
        "name": "priimek, ime in priimek, polno ime",
        "any_name": "ime",
        "birth": "datum rojstva, rojstni datum, rojen",
        "address": "naslov, ulica, ulica in hisna stevilka, stalno prebivalisce, bivalisce",
    },
    "Spanish": {
        "email": "correo electronico, e mail",
        "phone": (
            "telefono movil, numero de telefono, celular, telefono celular, nro telefono, fono, "
            "llameme al, llamame al"
        ),
        "iban": "cuenta bancaria, numero de cuenta",
        "card": "numero tarjeta, numero de tarjeta, nro tarjeta",
        "name": (
            "apellido paterno, apellido materno, nombre y apellido, nombre cliente, primer nombre, "
            "segundo nombre, nombre del cliente, nombre del titular, nombre de pila"
        ),
        "birth": "nacido, nacida, nacido el, nacida el, fecha de nac, fecha nac, fec nacimiento, f nacimiento",
        "address": "domicilio particular, calle y numero, calle numero, direccion postal",
    },
    "Swedish": {
        "email": "e postadress, epostadress",
        "phone": "telefonnummer, mobiltelefon, mobilnr, tel nr",
        "card": "kortnr, kreditkort",
        "ip": "ip adress",
        "name": "fornamn, tilltalsnamn, kundnamn, namn pa kund, hela namnet",
        "birth": "fodd den, fodelsedag",
        "address": "gatunamn, postadress, hemadress, leveransadress, folkbokforingsadress",
    },
    "Turkish": {
        "email": "e posta, eposta, e posta adresi, eposta adresi, mail adresi",
        "phone": (
            "telefon, telefon numarasi, telefon no, cep telefonu, gsm no, cep tel, telefonum, telefon numaram"
        ),
        "latitude": "enlem",
        "longitude": "boylam",
        "iban": "hesap no, hesap numarasi, banka hesabi",
        "card": "kart no, kart numarasi, kredi karti, kart numaram, kredi kartim",
        "ip": "ip adresi",
        "password": "sifre, şifre, parola",
        "name": "soyad, soyadi, soyisim, adi soyadi, ad soyad, isim soyisim, tam ad, musteri adi",
        "any_name": "adi, isim",
        "birth": "dogum tarihi, dogum gunu, dogum",
        "address": "adres, adresi, ev adresi, teslimat adresi, sokak, cadde, acik adres",
        "national": "kimlik no, kimlik numarasi, kimlik numaram",
    },
    "Ukrainian": {
        "email": "пошта, електронна пошта, ел пошта",
        "phone": "телефон, номер телефону, мобільний, мобільний телефон",
        "iban": "номер рахунку",
        "card": "номер картки",
        "ip": "ip адреса",
        "password": "пароль",
        "name": "прізвище, по батькові, піб, повне імя, prizvyshche",
        "any_name": "імя, імʼя, imya",
        "birth": "дата народження, data narodzhennya",
        "address": "адреса, вулиця, місце проживання, vulytsya",
    },
    "Vietnamese": {
        "email": "thu dien tu, dia chi email",
        "phone": "so dien thoai, dien thoai, sdt, điện thoại, số điện thoại",
        "card": "so the",
        "password": "mat khau, mật khẩu",
        "name": "ho ten, ho va ten, ten day du, họ tên, họ và tên",
        "any_name": "ten",
        "birth": "ngay sinh, ngày sinh",
        "address": "dia chi, địa chỉ, noi o",
    },
}
